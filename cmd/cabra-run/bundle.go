package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"cabra-run/images"
	"cabra-run/results"
	"cabra-run/results/bundle"
)

// exportBundle packs a run into one file, also while it goes on.
func (a *app) exportBundle(ctx context.Context, run, out string, withImages bool) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	store, err := a.openRun(run, results.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := a.scanBeforeBundle(ctx, store); err != nil {
		return err
	}
	o := bundle.WriteOptions{Now: time.Now().UTC()}
	if withImages {
		b, err := a.images("")
		if err != nil {
			return err
		}
		defer b.Close()
		o.Images = []bundle.ImageSource{imagesOf(store.Lock(), b)}
	}
	if out == "-" {
		_, err = bundle.Write(ctx, a.stdout, store.Dir(), o)
		return err
	}
	var r *bundle.Report
	err = writeFile(out, func(w io.Writer) error {
		r, err = bundle.Write(ctx, w, store.Dir(), o)
		return err
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(out)
	if err != nil {
		return err
	}
	a.say(fmt.Sprintf("wrote %s, %s (%s unpacked, %d members)\nelsewhere: cabra-run import bundle %s --run %s",
		out, units.HumanSize(float64(info.Size())), units.HumanSize(float64(r.Bytes)), r.Members,
		shellWord(filepath.Base(out)), shellWord(filepath.Base(store.Dir()))))
	for _, m := range r.Missing {
		a.say("warning: the run has lost " + m)
	}
	return nil
}

// scanBeforeBundle looks for keys in what is going to be given away, as far as
// this machine knows them.
func (a *app) scanBeforeBundle(ctx context.Context, store *results.Store) error {
	list, err := lockedPairings(store.Lock(), providerOptions{loginOptions: loginOptions{tls: tlsEnd}})
	if err != nil {
		a.say("the keys of this run are not known here, so it was not searched for them; the sweep itself was when it ended")
		return nil
	}
	return a.scanForKeys(ctx, store, pairingsOf(list, &kit{}))
}

// imagesOf are the images of a run, as one member of its bundle.
func imagesOf(l results.Lock, b *images.Builder) bundle.ImageSource {
	var ids []string
	for _, img := range l.Images {
		ids = append(ids, img.ID)
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return bundle.ImageSource{Image: bundle.Image{Name: "images", ID: "sha256:" + hex.EncodeToString(sum[:])},
		Write: func(ctx context.Context, w io.Writer) error {
			_, err := b.Export(ctx, w, ids...)
			return err
		}}
}

func newImportBundle(a *app) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "bundle FILE --run NAME",
		Short: "unpack a run that was packed by export --bundle, with its images if it has them",
		Long: `Unpacks a run. Every member is held against the list in the bundle before the run
appears; images must have the IDs that they are listed with. Whether the file comes
from somebody to be trusted is for you to know. With - as FILE it comes from
standard input.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" {
				return usagef("--run is missing: a name for the run")
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			var in io.Reader = cmd.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			return a.importBundle(ctx, in, name)
		},
	}
	cmd.Flags().StringVar(&name, "run", "", "name or path of the run")
	return cmd
}

func (a *app) importBundle(ctx context.Context, in io.Reader, name string) error {
	r, err := bundle.Read(ctx, bufio.NewReaderSize(in, 1<<20), a.runPath(name), bundle.ReadOptions{Image: a.takeImages})
	if err != nil {
		return err
	}
	a.say(fmt.Sprintf("unpacked run %s (%s, %d members) as %s; now: %s", r.Run, units.HumanSize(float64(r.Bytes)), r.Members,
		name, a.command("report", name)))
	return nil
}

// takeImages loads the images of a bundle into the engine.
func (a *app) takeImages(ctx context.Context, _ bundle.Image, r io.Reader) error {
	b, err := a.images("")
	if err != nil {
		return err
	}
	defer b.Close()
	list, err := b.Import(ctx, bufio.NewReaderSize(r, 1<<20))
	for _, img := range list {
		a.say(fmt.Sprintf("image %-9s %s  %.19s", img.Name, img.Tag, img.ID))
	}
	return err
}
