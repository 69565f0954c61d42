package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// aMachine records what is done to it. The engine answers once its start was
// asked for.
type aMachine struct {
	root, debian, systemd bool
	programs              []string
	did                   []string
	fails                 string // a command that fails
	answers               bool
}

func (m *aMachine) Root() bool              { return m.root }
func (m *aMachine) Debian() bool            { return m.debian }
func (m *aMachine) Systemd() bool           { return m.systemd }
func (m *aMachine) Has(program string) bool { return slices.Contains(m.programs, program) }

func (m *aMachine) Run(_ context.Context, name string, args ...string) error {
	line := name + " " + strings.Join(args, " ")
	m.did = append(m.did, line)
	if m.fails != "" && strings.HasPrefix(line, m.fails) {
		return errors.New("it failed")
	}
	m.answers = m.answers || name == "systemctl"
	return nil
}

func (m *aMachine) Spawn(_, name string, _ ...string) error {
	m.did = append(m.did, "spawn "+name)
	m.answers = true
	return nil
}

func (m *aMachine) ping(context.Context) error {
	if m.answers {
		return nil
	}
	return errors.New("nobody answers")
}

func TestSetUpEngine(t *testing.T) {
	const install = "apt-get install -y --no-install-recommends docker.io"
	tests := []struct {
		name    string
		m       aMachine
		did     []string
		said    int
		wantErr string
	}{
		{"an engine answers: nothing is done or said", aMachine{answers: true}, nil, 0, ""},
		{"installed, with systemd", aMachine{root: true, debian: true, systemd: true, programs: []string{"dockerd"}},
			[]string{"systemctl start docker"}, 1, ""},
		{"installed, no systemd", aMachine{root: true, debian: true, programs: []string{"dockerd"}}, []string{"spawn dockerd"}, 1, ""},
		{"nothing installed", aMachine{root: true, debian: true}, []string{"apt-get update", install, "spawn dockerd"}, 2, ""},
		{"not root", aMachine{debian: true}, nil, 0, "not root on a Debian-like system"},
		{"not Debian", aMachine{root: true}, nil, 0, "not root on a Debian-like system"},
		{"install fails", aMachine{root: true, debian: true, fails: "apt-get install"}, []string{"apt-get update", install}, 1, "it failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var said []string
			m := tt.m
			// An announcement comes before the step: what was done by then is counted with it.
			say := func(line string) { said = append(said, line) }
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			err := setUpEngine(ctx, &m, say, m.ping)
			if !slices.Equal(m.did, tt.did) || len(said) != tt.said {
				t.Errorf("did %q, said %q", m.did, said)
			}
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
		})
	}
}

// Where we may do nothing, a person gets the two lines to type.
func TestSetUpEngineHint(t *testing.T) {
	m := &aMachine{debian: true}
	err := setUpEngine(context.Background(), m, func(string) {}, m.ping)
	hint, code := explain(err)
	if code != exitError || strings.Count(hint, "sudo ") != 2 {
		t.Errorf("code %d, hint %q", code, hint)
	}
}

func TestInstallBootstrap(t *testing.T) {
	m := &aMachine{root: true, debian: true}
	said := 0
	if err := installBootstrap(context.Background(), m, func(string) { said++ }); err != nil {
		t.Fatal(err)
	}
	want := []string{"apt-get update", "apt-get install -y --no-install-recommends debootstrap debian-archive-keyring"}
	if !slices.Equal(m.did, want) || said != 1 {
		t.Errorf("did %q, said %d lines", m.did, said)
	}
	if err := installBootstrap(context.Background(), &aMachine{debian: true}, func(string) {}); err == nil {
		t.Error("without root there must be an error")
	}
}
