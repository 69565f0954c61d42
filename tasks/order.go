package tasks

// CellOrder returns the order in which grids hold their cells, as slices.SortFunc
// takes it. Cells with words that no grid has come first.
func CellOrder() func(a, b Cell) int { return newCellOrder().compare }

// InstancesOfAxis is the number of instances that every cell of an axis has, 0
// for an unknown axis.
func InstancesOfAxis(a Axis) int { return familyOf(a).instances }
