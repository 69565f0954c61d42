package runner

import "sync"

// places are what trials are worked on in: a number that may change while they
// are handed out.
type places struct {
	mu     sync.Mutex
	limit  int
	taken  int
	change chan struct{} // closed, and made anew, whenever a place may have become free
}

func (p *places) set(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = n
	p.tell()
}

// tell wakes those who wait; the lock is held.
func (p *places) tell() {
	if p.change != nil {
		close(p.change)
		p.change = nil
	}
}

// take waits for a place. It reports false, and takes none, once stop is closed.
func (p *places) take(stop <-chan struct{}) bool {
	for {
		select {
		case <-stop:
			return false
		default:
		}
		changed, ok := p.try()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-stop:
			return false
		}
	}
}

// try takes a place if one is free; else it returns what to wait for.
func (p *places) try() (changed <-chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken < p.limit {
		p.taken++
		return nil, true
	}
	if p.change == nil {
		p.change = make(chan struct{})
	}
	return p.change, false
}

func (p *places) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.tell()
}

// Jobs returns how many trials are worked on at most, and how many are.
func (p *places) Jobs() (limit, taken int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit, p.taken
}
