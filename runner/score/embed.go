package score

import _ "embed"

// executorText is PID 1 of a scorer box, programText what its children do,
// standinsText the libraries that task programs import without having them.
var (
	//go:embed python/executor.py
	executorText string
	//go:embed python/program.py
	programText string
	//go:embed python/standins.py
	standinsText string
)
