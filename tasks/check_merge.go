package tasks

import (
	"fmt"
	"hash"
	"strings"
)

// MergeKind is the check of merged classes, RenameKind that of renamed
// variables.
const (
	MergeKind  CheckKind = "merge"
	RenameKind CheckKind = "rename"
)

// MergeCheck is what a scorer has to know about a merge task beside its
// reference.
type MergeCheck struct {
	Seed       int64    `json:"seed"`       // that the programs were drawn from
	Params     int      `json:"params"`     // of either method compute, without self
	Transforms []string `json:"transforms"` // that both classes went through, may be empty
	// Groups holds, for A and B, how many lines of the starter's method each
	// block of shared lines has and each difference between two blocks, in turn;
	// the return line is not counted.
	Groups [2][]int `json:"groups"`
	// Differences holds, in program order, what the reference's helper methods
	// custom_compute_1, custom_compute_2, … compute.
	Differences []MergeDifference `json:"differences"`
	// Vectors holds the arguments of compute for the strict verdict, Params
	// each, 1, 2, 3, … first. Wherever one of the two classes computes a
	// difference as the other one should, at least one of them shows it.
	Vectors [][]int `json:"vectors"`
}

// MergeDifference is a line that truly differs between the two classes.
type MergeDifference struct {
	Target    string   `json:"target"`    // the variable that gets the value
	Kind      string   `json:"kind"`      // how B's version came from A's, such as "flip_sign"
	Arguments []string `json:"arguments"` // of the helper method, in the reference's names
	A         string   `json:"a"`         // the expression in CalculateA
	B         string   `json:"b"`         // the expression in CalculateB
	// Operators is the number of operators of the longer version, unary minus
	// included.
	Operators int `json:"operators"`
}

// Renaming asks for a variable to get another name.
type Renaming struct {
	Old string `json:"old"`
	New string `json:"new"`
}

func (m *MergeCheck) hashInto(h hash.Hash) {
	writeField(h, "merge", fmt.Sprint(m.Seed), fmt.Sprint(m.Params), strings.Join(m.Transforms, ","),
		fmt.Sprint(m.Groups))
	for _, d := range m.Differences {
		writeField(h, "difference", d.Target, d.Kind, strings.Join(d.Arguments, ","), d.A, d.B, fmt.Sprint(d.Operators))
	}
	for _, v := range m.Vectors {
		writeField(h, "vector", fmt.Sprint(v))
	}
}
