//go:build linux

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// usageCommand prints the bytes and the entries of a tree.
func usageCommand(args []string) (int, error) {
	entries := int64(200_000)
	options := arguments{numbers: map[string]*int64{"--entries": &entries}}
	words, err := options.parse(args)
	if err != nil {
		return exitUsage, err
	}
	dir, err := one(words, "folder")
	if err != nil {
		return exitUsage, err
	}
	fd, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return exitFailed, err
	}
	var bytes, files int64
	w := &walker{entries: entries, depth: 256}
	w.visit = func(e entry) error {
		bytes += max(e.stat.Size, e.stat.Blocks*512) // so that sparse files do not hide
		files++
		w.cut = w.cut || e.deep || e.unread
		return nil
	}
	if err := w.folder(fd, "", 0); err != nil {
		return exitFailed, err
	}
	fmt.Printf("%d %d\n", bytes, files)
	if w.cut {
		return exitPartial, nil
	}
	return exitDone, nil
}
