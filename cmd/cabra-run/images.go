package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"cabra-run/images"
)

func newImages(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "images",
		Short: "build, list, move and prune the images of the boxes",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImagesBuild(a), newImagesList(a), newImagesPrune(a), newImagesExport(a), newImagesImport(a))
	return cmd
}

// imageNames are the images that a run with the default agent needs, and base,
// which people build upon.
func imageNames() []string { return []string{"base", "copilot", "scorer"} }

func newImagesBuild(a *app) *cobra.Command {
	var base, bundle string
	var keep, all bool
	cmd := &cobra.Command{
		Use:   "build [IMAGE[@VERSION]…]",
		Short: "build what is missing (default: " + strings.Join(imageNames(), ", ") + ")",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := images.New(images.Options{Host: a.engineHost, Base: base, CABundle: bundle, KeepCA: keep, StateDir: a.stateDir, Log: a.say})
			if err != nil {
				return err
			}
			defer b.Close()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			if all {
				args = b.Names()
			}
			return buildImages(ctx, a, b, args)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "those of all agents")
	cmd.Flags().StringVar(&base, "base", "", "base image: pull, bootstrap or an image (default: pull, else bootstrap)")
	cmd.Flags().StringVar(&bundle, "ca-bundle", "", "PEM file that the build trusts (default: the host's, where it has certificates of its own)")
	cmd.Flags().BoolVar(&keep, "keep-ca", false, "leave the bundle in the agents' images")
	return cmd
}

func buildImages(ctx context.Context, a *app, b *images.Builder, names []string) error {
	for _, name := range names {
		if _, err := b.Version(name); err != nil {
			return usagef("%v; images are %s", err, strings.Join(b.Names(), ", "))
		}
	}
	if len(names) == 0 {
		names = imageNames()
	}
	for _, name := range names {
		img, err := b.Ensure(ctx, name)
		if err != nil {
			return err
		}
		a.say(fmt.Sprintf("image %-9s %s  %s", img.Name, img.Tag, units.HumanSize(float64(img.Bytes))))
	}
	return nil
}

func newImagesList(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the images that were built",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.images("")
			if err != nil {
				return err
			}
			defer b.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), askTime)
			defer cancel()
			list, err := b.List(ctx)
			if err != nil {
				return err
			}
			return printImages(a, list)
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func printImages(a *app, list []images.Image) error {
	if a.json {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "IMAGE\tTAG\tID\tSIZE\tCURRENT\tMADE BY")
	for _, img := range list {
		current := "no"
		if img.Current {
			current = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%.19s\t%s\t%s\t%s\n", img.Name, img.Tag, img.ID, units.HumanSize(float64(img.Bytes)), current, img.How)
	}
	return w.Flush()
}
