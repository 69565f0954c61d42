package official

import (
	"encoding/json"
	"errors"
	"slices"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// graphRecord is a graph as the published files have it. The order of nodes and
// that of the edges of a node carry meaning.
type graphRecord struct {
	Directed   bool         `json:"directed"`
	Multigraph bool         `json:"multigraph"`
	Graph      struct{}     `json:"graph"`
	Nodes      []nodeRecord `json:"nodes"`
	Edges      []edgeRecord `json:"edges"`
}

type nodeRecord struct {
	ID string `json:"id"`
}

type edgeRecord struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// pairRecord is an edge between the two graphs, caller first.
type pairRecord [2]string

// dagRecord is a dag.json. All lists have one element, for the one init graph
// and its edit graphs.
type dagRecord struct {
	Main      []graphRecord `json:"main_code_dags"`
	NumTarget int           `json:"num_target"`

	Dead       []graphRecord  `json:"dead_code_dags"`
	MainDead   []graphRecord  `json:"main_code_with_dead_code_dags"`
	DeadAttach [][]pairRecord `json:"dead_code_attach_edges"`

	Return          []graphRecord  `json:"add_return_value_dags"`
	ReturnSinks     []string       `json:"add_return_value_sink_ids"`
	ReturnInjection [][]string     `json:"add_return_value_injection_node_ids"`
	ReturnAttach    [][]pairRecord `json:"add_return_value_attach_edges"`

	Parameter          []graphRecord  `json:"add_parameter_dags"`
	ParameterRoots     []string       `json:"add_parameter_root_ids"`
	ParameterInjection [][]string     `json:"add_parameter_injection_node_ids"`
	ParameterAttach    [][]pairRecord `json:"add_parameter_attach_edges"`

	Cache          []graphRecord  `json:"cache_function_dags"`
	CacheRoots     []string       `json:"cache_function_root_ids"`
	CacheInjection [][]string     `json:"cache_function_injection_node_ids"`
	CacheAttach    [][]pairRecord `json:"cache_function_attach_edges"`
	MainCache      []graphRecord  `json:"main_code_with_cache_function_dags"`

	Helper          []graphRecord  `json:"extract_helper_dags"`
	HelperSinks     []string       `json:"extract_helper_sink_ids"`
	HelperInjection [][]string     `json:"extract_helper_injection_node_ids"`
	HelperAttach    [][]pairRecord `json:"extract_helper_attach_edges"`
	MainHelper      []graphRecord  `json:"main_code_with_extract_helper_dags"`

	MainReturn       []graphRecord `json:"main_code_with_add_return_value_dags"`
	ReturnTargets    []string      `json:"main_code_with_add_return_value_target_ids"`
	MainParameter    []graphRecord `json:"main_code_with_add_parameter_dags"`
	ParameterTargets []string      `json:"main_code_with_add_parameter_target_ids"`
}

func dagOf(s *callgraph.Sample) dagRecord {
	edit := func(f callgraph.Form) []graphRecord { return []graphRecord{graphOf(f.Edit)} }
	combined := func(f callgraph.Form) []graphRecord { return []graphRecord{graphOf(f.Combined)} }
	wrapper := func(f callgraph.Form) []string { return []string{f.Wrapper()} }
	return dagRecord{
		Main: []graphRecord{graphOf(s.Init)}, NumTarget: 1,
		Dead: edit(s.Dead), MainDead: combined(s.Dead), DeadAttach: attached(s.Dead),
		Return: edit(s.Return), ReturnSinks: wrapper(s.Return), ReturnInjection: injected(s.Return),
		ReturnAttach: attached(s.Return),
		Parameter:    edit(s.Parameter), ParameterRoots: wrapper(s.Parameter),
		ParameterInjection: injected(s.Parameter), ParameterAttach: attached(s.Parameter),
		Cache: edit(s.Cache), CacheRoots: wrapper(s.Cache), CacheInjection: injected(s.Cache),
		CacheAttach: attached(s.Cache), MainCache: combined(s.Cache),
		Helper: edit(s.Repeat), HelperSinks: wrapper(s.Repeat), HelperInjection: injected(s.Repeat),
		HelperAttach: attached(s.Repeat), MainHelper: combined(s.Repeat),
		MainReturn: combined(s.Return), ReturnTargets: wrapper(s.Return),
		MainParameter: combined(s.Parameter), ParameterTargets: wrapper(s.Parameter),
	}
}

func graphOf(g *callgraph.Graph) graphRecord {
	r := graphRecord{Directed: true, Nodes: []nodeRecord{}, Edges: []edgeRecord{}}
	for v := range g.Len() {
		r.Nodes = append(r.Nodes, nodeRecord{g.Name(v)})
		for _, callee := range g.Out(v) {
			r.Edges = append(r.Edges, edgeRecord{g.Name(v), g.Name(callee)})
		}
	}
	return r
}

func attached(f callgraph.Form) [][]pairRecord {
	pairs := []pairRecord{}
	for _, e := range f.Attach {
		pairs = append(pairs, pairRecord{f.Combined.Name(e[0]), f.Combined.Name(e[1])})
	}
	return [][]pairRecord{pairs}
}

// injected lists the init functions that have an edge with the edit graph.
func injected(f callgraph.Form) [][]string {
	names := []string{}
	for _, e := range f.Attach {
		names = append(names, f.Combined.Name(min(e[0], e[1]))) // init functions come first
	}
	slices.Sort(names)
	return [][]string{slices.Compact(names)}
}

// readGraph is a graph that is read; an older spelling calls the edges links.
type readGraph struct {
	Nodes []nodeRecord `json:"nodes"`
	Edges []edgeRecord `json:"edges"`
	Links []edgeRecord `json:"links"`
}

// edges are those of either spelling.
func (g readGraph) edges() []edgeRecord {
	if g.Edges != nil {
		return g.Edges
	}
	return g.Links
}

// editNodes returns the functions of the edit graph of a refactoring in graph
// order, as a dag.json has them.
func editNodes(dag []byte, r tasks.Refactoring) ([]string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(dag, &all); err != nil {
		return nil, err
	}
	var graphs []readGraph
	if err := json.Unmarshal(all[typeName(r)+"_dags"], &graphs); err != nil {
		return nil, err
	}
	var names []string
	for _, g := range graphs {
		known := map[string]bool{}
		for _, n := range g.Nodes {
			names, known[n.ID] = append(names, n.ID), true
		}
		for _, e := range g.edges() {
			if !known[e.Source] || !known[e.Target] {
				return nil, errors.New("an edge leads to a function that the graph does not have")
			}
		}
	}
	return names, nil
}
