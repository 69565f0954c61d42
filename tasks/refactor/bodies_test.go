package refactor

import "cabra-run/tasks/program"

// callsOf returns the functions that a plain body calls for its variables.
func callsOf(body []program.Stmt) (callees []string) {
	for _, stmt := range body {
		if line, ok := stmt.(program.Assign); ok {
			callees = append(callees, line.Value.(program.Call).Func)
		}
	}
	return callees
}

// operatorsOf returns the operators of a plain body's result, outermost first.
func operatorsOf(body []program.Stmt) (operators []string) {
	value := body[len(body)-1].(program.Return).Value
	for {
		call, ok := value.(program.Call)
		if !ok {
			return operators
		}
		operators = append(operators, call.Func)
		value = call.Args[0]
	}
}
