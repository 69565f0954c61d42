// Package model owns the model without tools: the prompt that holds a whole
// repository and its problem, asking for an answer in three wire formats
// through the vendors' client libraries, and reading a solution out of the
// answer, as whole files or as a diff. [Solve] does all of it and writes down
// what was said. The package must not know boxes, stores or scores, nor how the
// gateway that it asks treats keys, retries and budgets. Answers are hostile
// text: their sizes are bounded, and they are read and never run.
package model
