package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"cabra-run/images"
)

func newImagesExport(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export [IMAGE[@VERSION]|ID…] --out FILE",
		Short: "write images into one file for another machine",
		Long: `Writes images with all that they consist of into one file (zstd), which "images
import" reads on a machine that cannot build them, or must have the very same ones.
Without a name these are the images of a run with the default agent. With - as FILE
it goes to standard output.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--out names the file to write")
			}
			if len(args) == 0 {
				args = imageNames()
			}
			b, err := a.images("")
			if err != nil {
				return err
			}
			defer b.Close()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return exportImages(ctx, a, b, out, args)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the file to write, - for standard output")
	return cmd
}

// exportImages writes to a temporary file beside the wanted one, so that a
// name never stands for half a file.
func exportImages(ctx context.Context, a *app, b *images.Builder, name string, wanted []string) error {
	if name == "-" {
		_, err := b.Export(ctx, a.stdout, wanted...)
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // is another name's after the rename
	list, err := b.Export(ctx, file, wanted...)
	if err == nil {
		err = file.Sync()
	}
	info, serr := file.Stat()
	if err = errors.Join(err, serr, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return err
	}
	for _, img := range list {
		a.say(fmt.Sprintf("image %-9s %s  %.19s", img.Name, img.Tag, img.ID))
	}
	a.say(fmt.Sprintf("wrote %s, %s", name, units.HumanSize(float64(info.Size()))))
	return nil
}

func newImagesImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "read images that were exported on another machine",
		Long: `Reads a file that "images export" wrote. Every image must have the ID that it is
listed with, and gets no other name than that of its recipe. Whether the file comes
from somebody to be trusted is for you to know: agents and the scorer run what is in
these images. With - as FILE it comes from standard input.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var in io.Reader = cmd.InOrStdin()
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			b, err := a.images("")
			if err != nil {
				return err
			}
			defer b.Close()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			list, err := b.Import(ctx, bufio.NewReaderSize(in, 1<<20))
			for _, img := range list {
				a.say(fmt.Sprintf("image %-9s %s  %.19s  %s", img.Name, img.Tag, img.ID, units.HumanSize(float64(img.Bytes))))
			}
			return err
		},
	}
}

func newImagesPrune(a *app) *cobra.Command {
	var o images.PruneOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "remove our images that are out of date",
		Long: `Removes images of cabra-run that this program would not make any more, with the
layers that no other image needs. Images that a container uses always stay, and the
current ones unless --all is given.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Keep < 0 || o.OlderThan < 0 {
				return usagef("--keep and --older-than cannot be negative")
			}
			b, err := a.images("")
			if err != nil {
				return err
			}
			defer b.Close()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			ctx, cancel := context.WithTimeout(ctx, cleanTime)
			defer cancel()
			gone, err := b.Prune(ctx, o)
			sayPruned(a, gone, o.DryRun)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.All, "all", false, "remove the current ones too")
	f.IntVar(&o.Keep, "keep", 0, "spare the newest `N` versions of each image")
	f.DurationVar(&o.OlderThan, "older-than", time.Duration(0), "spare what is younger, such as 720h")
	f.BoolVar(&o.Layers, "build-cache", false, "remove layers that no remaining image needs whatever their age")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be removed, and remove nothing")
	return cmd
}

func sayPruned(a *app, p images.Pruned, dry bool) {
	removed, freed := "removed", "freed"
	if dry {
		removed, freed = "would remove", "would free at least"
	}
	for _, img := range p.Images {
		a.say(removed + " " + img.Tag)
	}
	if p.Layers > 0 {
		a.say(fmt.Sprintf("%s %d layers", removed, p.Layers))
	}
	for _, img := range p.InUse {
		a.say("kept " + img.Tag + ": a container uses it")
	}
	if len(p.Images)+p.Layers > 0 {
		a.say(fmt.Sprintf("%s %s", freed, units.HumanSize(float64(p.Bytes))))
	}
}
