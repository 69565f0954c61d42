package gateway

import (
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"cabra-run/sandbox/gateway/price"
)

// RetryBudget bounds what is done for one request before its failure is passed
// on to the agent.
type RetryBudget struct {
	// Tries (8) is how often the provider is asked. Answers that say "slower"
	// do not count: they are waited for as long as the time lasts.
	Tries int
	// Slower bounds those too; 0 leaves it to the time, 1 passes all on.
	Slower int
	// Within (4 min) is below the patience of every CLI, which is ten minutes
	// at best.
	Within time.Duration
}

// Limits bound what one attempt can cost. Zero fields mean the defaults.
type Limits struct {
	BodyBytes   int64 // 8 MiB, one request body
	BufferBytes int64 // 12 MiB, bodies and answers held in memory at one time
	Concurrent  int   // 16 requests at one time; more wait
	Requests    int   // 20,000 in all; more are refused
	AnswerBytes int64 // 64 MiB, one answer
	// BodyTime (2 min) is how long a body may take to arrive, WriteTime
	// (1 min) how long the agent may let a piece of an answer lie.
	BodyTime, WriteTime time.Duration
}

// Options are what all sessions of a gateway share. The zero value is usable.
type Options struct {
	Retry   RetryBudget
	Backoff Backoff
	Limits  Limits
}

// Gateway makes sessions and holds the state that they share per provider.
type Gateway struct {
	o Options
	// sessions are those that are open.
	sessions atomic.Int64

	mu     sync.Mutex
	queues map[string]*queue
}

// New returns a Gateway; zero options take their defaults.
func New(o Options) *Gateway {
	orInt(&o.Retry.Tries, 8)
	orInt(&o.Retry.Within, 4*time.Minute)
	orInt(&o.Backoff.Base, time.Second)
	orInt(&o.Backoff.Max, time.Minute)
	orInt(&o.Backoff.OwnMax, 15*time.Second)
	orInt(&o.Backoff.RetryAfterMax, 2*time.Minute)
	if o.Backoff.Jitter == nil {
		o.Backoff.Jitter = rand.Float64
	}
	orInt(&o.Limits.BodyBytes, 8<<20)
	orInt(&o.Limits.BufferBytes, 12<<20)
	o.Limits.BufferBytes = max(o.Limits.BufferBytes, o.Limits.BodyBytes)
	orInt(&o.Limits.Concurrent, 16)
	orInt(&o.Limits.Requests, 20000)
	orInt(&o.Limits.AnswerBytes, 64<<20)
	orInt(&o.Limits.BodyTime, 2*time.Minute)
	orInt(&o.Limits.WriteTime, time.Minute)
	return &Gateway{o: o, queues: map[string]*queue{}}
}

func orInt[T ~int | ~int64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// limited is an upstream whose user has set limits.
type limited interface{ Limits() RateLimits }

// queue returns the state that sessions share for a model of an upstream, or
// for all of its models where its limits are shared by them.
func (g *Gateway) queue(up Upstream, model string) *queue {
	var limits RateLimits
	if u, ok := up.(limited); ok {
		limits = u.Limits()
	}
	key := up.Name()
	if !limits.Shared {
		key += "\x00" + model
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[key]
	if q == nil {
		q = &queue{policy: g.o.Backoff}
		if !limits.none() {
			q.gate = &gate{limits: limits}
		}
		g.queues[key] = q
	}
	return q
}

// SessionOptions describe one attempt.
type SessionOptions struct {
	Upstream Upstream
	Model    string // the provider's name of the model, put into every request
	Wires    []Wire // those that are served; nil serves all
	Script   Script // for the scripted upstream
	// Record gets every exchange; nil records nothing.
	Record *Recorder
	// OnSend is called once for every model request before it is first sent,
	// one call at a time, with the worst that it can cost. After an error the
	// request is not sent.
	OnSend func(Exchange) error
	// OnExchange is called for every model request when it has ended, before
	// the agent sees the end of its answer, one call at a time. Its error is
	// kept in Stats; the answer is passed on all the same.
	OnExchange func(Exchange) error
	// Mask hides further secrets. The upstream's own are hidden anyway.
	Mask *Mask
	// Price says what the model's tokens cost; nil leaves costs unknown.
	Price *price.Model
	// Budget bounds what is spent, nil does not. Trial is the key under which
	// it adds up the attempts of a trial.
	Budget *Budget
	Trial  string
	// Login lets the box reach the hosts of a CLI that insists on its own;
	// Upstream is the login's then. Nil refuses every other host.
	Login *Login
}

// Exchange is one model request with what came back.
type Exchange struct {
	Seq      int // from 1 within the attempt, in order of arrival
	Wire     Wire
	Started  time.Time
	Ended    time.Time
	Model    string
	Status   int      // HTTP status sent to the agent, 0 when none was
	Complete bool     // the answer ended as it should
	Usable   bool     // complete, 2xx, and it says something
	Error    string   // why not complete
	Usage    Usage    // unknown for cut answers that told none
	CostUSD  *float64 // nil when unknown, which is never the same as zero
	// WorstUSD and WorstTokens are the most that the request could cost. They
	// count against a budget where the cost is unknown; WorstUSD is nil without
	// a price.
	WorstUSD    *float64
	WorstTokens int64
	Tries       int           // how often the provider was asked
	Waited      time.Duration // spent on tries that failed and between tries
}

// Open makes the session of one attempt.
func (g *Gateway) Open(o SessionOptions) (*Session, error) {
	if o.Upstream == nil {
		return nil, errors.New("opening session: no upstream")
	}
	if o.Model == "" {
		return nil, errors.New("opening session: no model")
	}
	if _, free := o.Upstream.(perAttempt); !free {
		if err := o.Budget.Check(o.Upstream.Name()+"/"+o.Model, o.Price); err != nil {
			return nil, fmt.Errorf("opening session: %w", err)
		}
	}
	var token [16]byte
	cryptorand.Read(token[:]) // never fails, by its contract
	s := newSession(g, o, hex.EncodeToString(token[:]))
	if err := s.openLogin(); err != nil {
		s.stop()
		return nil, fmt.Errorf("opening session: %w", err)
	}
	return s, nil
}
