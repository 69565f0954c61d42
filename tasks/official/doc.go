// Package official owns the file formats of the published benchmark: it writes
// tasks as the tree of files that the official tools read, reads such trees, its
// own or downloaded ones, as tasks, and reads official response files. Official
// names occur here and nowhere else.
//
// Files that are read are hostile: sizes and counts are bounded, no link leads
// out of the tree, and what cannot be used is left out under a Notice rather
// than ending everything.
//
// It must not know how tasks are generated, beyond the call graphs that
// dag.json holds, nor how answers are scored or stored.
package official
