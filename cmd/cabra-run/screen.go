package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"cabra-run/runner/control"
)

// screen renews a block of lines on a terminal.
type screen struct {
	out   io.Writer
	drawn int // lines of the block that is shown
}

// size is the terminal's, or what every terminal has.
func (s *screen) size() (width, height int) {
	width, height = 80, 24
	if f, ok := s.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			width, height = w, h
		}
	}
	return width, height
}

// draw replaces the block by other lines, in one write. No line may wrap, and
// not more of them fit than the terminal is high: the cursor could not go back.
func (s *screen) draw(lines []string) error {
	width, height := s.size()
	var b bytes.Buffer
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", min(s.drawn, height-1))
	}
	b.WriteString("\r\x1b[J")
	lines = lines[:min(len(lines), height-1)]
	for _, line := range lines {
		b.WriteString(cut(line, width-1) + "\n")
	}
	s.drawn = len(lines)
	_, err := s.out.Write(b.Bytes())
	return err
}

// cut shortens a line to so many characters.
func cut(line string, width int) string {
	runes := []rune(line)
	if len(runes) <= width {
		return line
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// barWidth is that of the bar in characters.
const barWidth = 30

// block is a view for a terminal that is so many lines high.
func (a *app) block(run string, v view, height int) []string {
	s := v.Status
	who := fmt.Sprintf("%s %s, model %s", s.Agent, s.Version, s.Model)
	if n := len(s.Pairings); n > 0 {
		who = fmt.Sprintf("%d pairings of agent and model", n)
	}
	lines := []string{
		printableLine(fmt.Sprintf("run %s: %s", s.Run, who)),
		fmt.Sprintf("%s %s", bar(s.Trials.Done, s.Trials.Planned), countsText(s)),
		"spent " + costText(s.Spent) + rateText(v),
	}
	if words := wordsText(s); words != "" {
		lines = append(lines, words)
	}
	if v.Live != nil {
		lines = append(lines, fmt.Sprintf("%s; %d of at most %d attempts at the same time",
			levelText(*v.Live), v.Live.Taken, v.Live.Jobs))
		if v.Live.Waiting != "" {
			lines = append(lines, "nothing new is started: "+printableLine(v.Live.Waiting))
		}
	}
	if !v.Held {
		return append(lines, a.ending(run, v))
	}
	return append(lines, flightLines(v, height-len(lines)-1)...)
}

func bar(done, planned int) string {
	full := 0
	if planned > 0 {
		full = barWidth * done / planned
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", barWidth-full) + "]"
}

func rateText(v view) string {
	s := v.Status
	text := ""
	if v.Held && s.TrialsPerHour != nil && !s.Complete {
		left := time.Duration(*s.Remaining * float64(time.Second)).Round(time.Second)
		text = fmt.Sprintf("; %.0f trials per hour, %s left at this rate", *s.TrialsPerHour, left)
	}
	return text + "; as of " + v.at.Format(time.TimeOnly)
}

// flightLines lists the attempts in flight, the oldest first, as far as there
// are lines for them.
func flightLines(v view, room int) []string {
	var lines []string
	for _, r := range v.Status.Running {
		who := ""
		if r.Agent != "" {
			who = r.Agent + " " + r.Model
		}
		lines = append(lines, fmt.Sprintf("  %s, %d requests", flightText(control.Attempt{Task: string(r.TaskID),
			Repetition: r.Repetition, Number: r.Attempt, Who: who, Seconds: r.Seconds}), r.Exchanges))
	}
	if room = max(room, 1); len(lines) > room {
		more := len(lines) - room + 1
		lines = append(lines[:room-1], fmt.Sprintf("  and %d more", more))
	}
	return lines
}
