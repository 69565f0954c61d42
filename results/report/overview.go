package report

import (
	"bufio"
	"fmt"
	"slices"

	"cabra-run/tasks"
)

// shownWithSE is up to how many columns of accuracies fit with their errors.
const shownWithSE = 5

// writeOverview prints the accuracy of every agent and model on every axis.
func writeOverview(w *bufio.Writer, r *Report) {
	fmt.Fprintf(w, "\nAccuracy by agent and axis (%s verdict)\n", r.Header.Scorer)
	axes := axesOf(r)
	for i, p := range r.Pairings {
		name := fmt.Sprintf("%d  %s%s", i+1, headerPairing(p.Header), scriptedMark(p.Header))
		fmt.Fprintln(w, shorten(name, 80))
	}
	t := table{header: []string{"", "trials"}}
	for _, a := range axes {
		t.header = append(t.header, string(a))
	}
	t.header = append(t.header, "all")
	cellOf := func(rate Rate) string { return rateText(rate) }
	if len(axes)+1 > shownWithSE {
		cellOf = func(rate Rate) string { return fraction(rate.Accuracy) }
	}
	for i, p := range r.Pairings {
		row := []string{fmt.Sprint(i + 1), count(p.Overall.All.N)}
		for _, a := range axes {
			row = append(row, cellOf(p.axisRate(a)))
		}
		t.add(append(row, cellOf(p.Overall.All))...)
	}
	t.write(w)
	if len(axes)+1 <= shownWithSE {
		fmt.Fprintln(w, "±: standard error. All trials that are done count.")
	}
}

func headerPairing(h Header) Pairing {
	return Pairing{Agent: h.Agent, Version: h.Version, Model: h.Model, Scripted: h.Scripted}
}

func scriptedMark(h Header) string {
	if h.Scripted {
		return " (scripted model)"
	}
	return ""
}

// axesOf are those on which any pairing has trials.
func axesOf(r *Report) []tasks.Axis {
	var axes []tasks.Axis
	for _, p := range r.Pairings {
		for _, g := range p.ByAxisSize {
			if !slices.Contains(axes, g.Axis) {
				axes = append(axes, g.Axis)
			}
		}
	}
	slices.SortFunc(axes, func(a, b tasks.Axis) int { return byOrder(tasks.AllAxes(), a, b) })
	return axes
}

// axisRate is the accuracy on all sizes of an axis.
func (r *Report) axisRate(axis tasks.Axis) Rate {
	n, solved := 0, 0
	for _, g := range r.ByAxisSize {
		if g.Axis == axis {
			n, solved = n+g.All.N, solved+g.All.Solved
		}
	}
	return newRate(solved, n, r.Withheld)
}

// writeSection begins the tables of one agent and model.
func writeSection(w *bufio.Writer, i int, r *Report) {
	h := r.Header
	writeRule(w, fmt.Sprintf("%d: %s", i+1, headerPairing(h)))
	if h.Scripted {
		writeWrapped(w, scriptedNote)
	}
	writeLosses(w, h)
	writeProgress(w, r, false)
}

// shownPassAt are the k of pass@k in the text; JSON and CSV have them all.
func shownPassAt(most int) []int {
	shown := slices.DeleteFunc([]int{1, 2, 3, 5, 10, 20, 50, 100}, func(k int) bool { return k >= most })
	return append(shown, most)
}

// writeRepeats prints what several repetitions of the same tasks tell.
func writeRepeats(w *bufio.Writer, r *Report) {
	all := r.Overall.Repeats
	if all == nil || all.Repetitions < 2 {
		return
	}
	fmt.Fprintf(w, "\nBy task, with up to %d repetitions (%s verdict)\n", all.Repetitions, r.Header.Scorer)
	shown := shownPassAt(all.Repetitions)
	if len(shown) > 6 {
		shown = slices.Concat(shown[:5], shown[len(shown)-1:])
	}
	t := table{align: "l", header: []string{"axis", "size", "tasks"}}
	for _, k := range shown {
		t.header = append(t.header, fmt.Sprintf("pass@%d", k))
		if k == 1 {
			t.header = append(t.header, "s.e.")
		}
	}
	for _, g := range withTotal(r) {
		row := []string{axisLabel(g), sizeLabel(g), count(g.Repeats.Tasks)}
		for _, k := range shown {
			row = append(row, fraction(g.Repeats.at(k).Value))
			if k == 1 {
				row = append(row, fraction(g.Repeats.at(1).SE))
			}
		}
		t.add(row...)
	}
	t.write(w)
	writeWrapped(w, "pass@k: the chance that one of k trials solves a task, estimated from all of them; pass@1 is the mean "+
		"over tasks of the share solved, s.e. its standard error over tasks.")
}

// at is pass@k, unknown beyond the repetitions of the group.
func (r *Repeats) at(k int) PassAt {
	if k > len(r.PassAt) {
		return PassAt{K: k}
	}
	return r.PassAt[k-1]
}
