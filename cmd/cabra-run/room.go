package main

import (
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"

	"cabra-run/runner"
)

// room are the flags that say what has to stay free of the machine.
type room struct {
	freeDisk, freeMemory string
	wait                 time.Duration
}

func (o *room) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.freeDisk, "min-free-disk", "2GiB",
		"no attempt is started with less free on the disks of run, state folder and engine; 0 does not look")
	f.StringVar(&o.freeMemory, "min-free-memory", "512MiB",
		"memory that stays free beside what an attempt is expected to need; 0 does not look")
	f.DurationVar(&o.wait, "max-room-wait", time.Hour,
		"how long the run waits for room with nothing running before it pauses; 0 waits for ever")
}

// into checks the flags and puts them into settings.
func (o *room) into(s *runner.Settings) (err error) {
	if s.MinFreeDisk, err = freeFlag("--min-free-disk", o.freeDisk); err != nil {
		return err
	}
	if s.MinFreeMemory, err = freeFlag("--min-free-memory", o.freeMemory); err != nil {
		return err
	}
	if o.wait < 0 || o.wait > longest {
		return usagef("--max-room-wait %s: 0, which waits for ever, to %s", o.wait, longest)
	}
	s.MaxRoomWait = o.wait
	return nil
}

// freeFlag is a size that may be 0; "" is that of a caller without the flag.
func freeFlag(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.RAMInBytes(text)
	if err != nil || n < 0 {
		return 0, usagef("%s %q is not a size such as 512MiB or 2GiB, or 0", flag, text)
	}
	return n, nil
}
