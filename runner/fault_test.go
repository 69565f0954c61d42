package runner_test

// childFaults are the failures of the storage that a child can bring about.
var childFaults = map[string]func(*inChild, *rig, job){}
