package gateway

// ReplayReport is what came of a replay, bounded in size.
type ReplayReport struct {
	Matched int `json:"matched"` // requests answered from the recording
	Unused  int `json:"unused"`  // recorded requests that nobody made again
	// Drifts are texts that differed in requests of the same structure, each
	// once, in the order in which they were met.
	Drifts       []ReplayDrift `json:"drifts,omitempty"`
	MoreDrifts   int           `json:"more_drifts,omitempty"` // beyond those that are listed
	ResultDrifts int           `json:"result_drifts"`         // how many of all are tool results
	Torn         bool          `json:"torn,omitempty"`        // the recording ends in a damaged part
	// Divergence is why the replay stopped; nil when it did not.
	Divergence *ReplayDivergence `json:"divergence,omitempty"`
}

// ReplayDrift is a text that differed. It changes no answer.
type ReplayDrift struct {
	Request  int      `json:"request"`  // the first that had it, from 1, in order of arrival
	Recorded int      `json:"recorded"` // its place in the recording, from 1
	Item     int      `json:"item"`     // place of the text in the request, from 1
	Kind     TextKind `json:"kind"`
	Requests int      `json:"requests"` // how many had it, as later ones repeat what was said
	Diff     string   `json:"diff"`     // of the texts without ids and times
}

// ReplayDivergence is a request that the recording cannot answer.
type ReplayDivergence struct {
	Request int    `json:"request"` // from 1, in order of arrival
	Reason  string `json:"reason"`
	// Nearest is the place of the recorded request that is most like it, from
	// 1; 0 when there is none. Used says that it was answered before.
	Nearest int    `json:"nearest,omitempty"`
	Used    bool   `json:"used,omitempty"`
	Diff    string `json:"diff,omitempty"` // of the two structures
}

// Bounds of a report.
const maxDrifts = 100
