package merge

import (
	"fmt"
	"slices"
	"strings"

	"cabra-run/tasks"
)

// The transformations that make the two classes look different.
const (
	renameVariables = "rename_variables"
	shuffleLines    = "shuffle_lines"
	multiLines      = "multi_lines"
	reorder         = "reorder"
	logicalEquiv    = "logical_equiv"
)

func allTransforms() []string {
	return []string{renameVariables, shuffleLines, multiLines, reorder, logicalEquiv}
}

// The ways in which B's version of a differing line comes from A's.
const (
	swapFactor  = "swap_factor"
	flipSign    = "flip_sign"
	changeCoeff = "change_coeff"
	addFactor   = "add_factor"
)

func allPerturbations() []string { return []string{swapFactor, flipSign, changeCoeff, addFactor} }

// The published configuration.
const (
	publishedParams   = 10
	publishedMinBlock = 2
)

// config says what programs are drawn.
type config struct {
	shared      int // lines that both classes have in common
	differences int // lines beside them that differ
	params      int
	minBlock    int // shared lines before, between and after differences, at least
	transforms  []string
	kinds       []string // of differences; their order decides what is drawn
}

// maxDifferences bounds the combinations of versions that are told apart.
const maxDifferences = 8

func (c config) check() error {
	switch {
	case c.differences < 1 || c.differences > maxDifferences:
		return fmt.Errorf("%d differences are not between 1 and %d", c.differences, maxDifferences)
	case c.params < 1 || c.params > 26 || c.minBlock < 1:
		return fmt.Errorf("%d parameters or %d lines a block cannot be", c.params, c.minBlock)
	case c.shared > tasks.Sizes()[len(tasks.Sizes())-1]*10:
		return fmt.Errorf("%d shared lines are too many", c.shared)
	case (c.differences+1)*c.minBlock > c.shared:
		return fmt.Errorf("%d shared lines are too few for %d differences", c.shared, c.differences)
	case len(c.kinds) == 0:
		return fmt.Errorf("no kind of difference")
	}
	return nil
}

func (c config) allows(transform string) bool { return slices.Contains(c.transforms, transform) }

// configOf returns what the tasks of a cell are drawn with.
func configOf(c tasks.Cell) (config, error) {
	if c.Axis != tasks.Merge || c.Refactoring != "" || c.Code != "" {
		return config{}, fmt.Errorf("axis %q is not generated", c.Axis)
	}
	drawn := config{shared: c.Size, differences: 1, params: publishedParams, minBlock: publishedMinBlock,
		transforms: allTransforms(), kinds: allPerturbations()}
	if err := drawn.vary(c.Variant); err != nil {
		return config{}, err
	}
	return drawn, drawn.check()
}

// vary applies the variant of a cell.
func (c *config) vary(variant string) error {
	switch variant {
	case "", hintVariant:
		return nil
	case "no-transforms":
		c.transforms = nil
		return nil
	case "differences-3":
		c.differences = 3
		return nil
	case "differences-5":
		c.differences = 5
		return nil
	}
	for _, transform := range allTransforms() {
		switch word := strings.ReplaceAll(transform, "_", "-"); variant {
		case "only-" + word:
			c.transforms = []string{transform}
			return nil
		case "without-" + word:
			c.transforms = slices.DeleteFunc(allTransforms(), func(t string) bool { return t == transform })
			return nil
		}
	}
	return fmt.Errorf("unknown variant %q", variant)
}

// hintVariant is the variant whose statement tells the number of differences.
const hintVariant = "hint"
