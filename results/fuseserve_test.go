package results_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func (f *fuseFS) serve() {
	buf := make([]byte, maxWrite+4096)
	for {
		n, err := unix.Read(f.fd, buf)
		if err == unix.EINTR || err == unix.ENOENT || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return
		}
		r := request{op: binary.LittleEndian.Uint32(buf[4:]), unique: binary.LittleEndian.Uint64(buf[8:]),
			node: binary.LittleEndian.Uint64(buf[16:]), body: buf[40:n]}
		if r.op == opForget || r.op == opBatchForget || r.op == opInterrupt {
			continue
		}
		answer, errno := f.answer(&r)
		head := binary.LittleEndian.AppendUint32(nil, uint32(16+len(answer)))
		head = binary.LittleEndian.AppendUint32(head, uint32(-int32(errno)))
		head = binary.LittleEndian.AppendUint64(head, r.unique)
		if _, err := unix.Write(f.fd, append(head, answer...)); err != nil {
			return
		}
	}
}

type request struct {
	op           uint32
	unique, node uint64
	body         []byte
}

func (r *request) u32(at int) uint32 { return binary.LittleEndian.Uint32(r.body[at:]) }
func (r *request) u64(at int) uint64 { return binary.LittleEndian.Uint64(r.body[at:]) }

// name is the n-th text behind the fixed part of a request.
func (r *request) name(at, n int) string { return string(bytes.Split(r.body[at:], []byte{0})[n]) }

func (f *fuseFS) path(node uint64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paths[node]
}

func (f *fuseFS) file(handle uint64) *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files[handle]
}

func (f *fuseFS) real(path string) string { return filepath.Join(f.under, path) }

// subject is the path that a request is about.
func (f *fuseFS) subject(r *request) string {
	path := f.path(r.node)
	switch r.op {
	case opLookup, opUnlink, opRmdir:
		return filepath.Join(path, r.name(0, 0))
	case opMkdir:
		return filepath.Join(path, r.name(8, 0))
	case opCreate:
		return filepath.Join(path, r.name(16, 0))
	case opRename:
		return filepath.Join(f.path(r.u64(0)), r.name(8, 1))
	case opRename2:
		return filepath.Join(f.path(r.u64(0)), r.name(16, 1))
	}
	return path
}

func (f *fuseFS) answer(r *request) ([]byte, syscall.Errno) {
	if r.op == opInit {
		return f.init(), 0
	}
	path := f.subject(r)
	if errno := f.fault(r.op, path); errno != 0 {
		return nil, errno
	}
	answer, err := f.do(r, path)
	if err == nil {
		return answer, 0
	}
	var errno syscall.Errno
	if !asErrno(err, &errno) {
		errno = syscall.EIO
	}
	return nil, errno
}

// fault is what the request is to fail with, 0 for not at all.
func (f *fuseFS) fault(op uint32, path string) syscall.Errno {
	data, err := os.ReadFile(f.faults)
	if err != nil {
		return syscall.EIO
	}
	for line := range strings.Lines(string(data)) {
		var when uint32
		var part string
		var errno syscall.Errno
		if n, _ := fmt.Sscan(line, &when, &part, &errno); n == 3 && when == op && (part == "*" || strings.Contains(path, part)) {
			return errno
		}
	}
	return 0
}

func asErrno(err error, target *syscall.Errno) bool {
	for err != nil {
		if e, ok := err.(syscall.Errno); ok {
			*target = e
			return true
		}
		inner, ok := err.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		err = inner.Unwrap()
	}
	return false
}

func (f *fuseFS) init() []byte {
	flags := uint32(1 << 5) // large writes
	if f.kind == fuseNoLocks {
		flags |= 1<<1 | 1<<10
	}
	out := make([]byte, 64)
	binary.LittleEndian.PutUint32(out, 7)
	binary.LittleEndian.PutUint32(out[4:], 31)
	binary.LittleEndian.PutUint32(out[12:], flags)
	binary.LittleEndian.PutUint32(out[20:], maxWrite)
	binary.LittleEndian.PutUint32(out[24:], 1)
	return out
}

func (f *fuseFS) do(r *request, path string) ([]byte, error) {
	switch r.op {
	case opLookup:
		return f.entry(path)
	case opGetattr:
		return f.attr(path, r.u32(0)&1 != 0, r.u64(8))
	case opSetattr:
		return f.setattr(r, path)
	case opMkdir:
		if err := os.Mkdir(f.real(path), os.FileMode(r.u32(0)&0o777)); err != nil {
			return nil, err
		}
		return f.entry(path)
	case opUnlink, opRmdir:
		err := os.Remove(f.real(path))
		f.forget(path)
		return nil, err
	case opRename, opRename2:
		at := map[uint32]int{opRename: 8, opRename2: 16}[r.op]
		return nil, f.rename(filepath.Join(f.path(r.node), r.name(at, 0)), path)
	case opOpen, opOpendir:
		return f.open(path, int(r.u32(0)), 0)
	case opCreate:
		opened, err := f.open(path, int(r.u32(0))|os.O_CREATE, os.FileMode(r.u32(4)&0o777))
		if err != nil {
			return nil, err
		}
		entry, err := f.entry(path)
		return append(entry, opened...), err
	case opReaddir:
		return f.readdir(path, r.u64(8), int(r.u32(16)))
	case opRead:
		buf := make([]byte, r.u32(16))
		n, err := unix.Pread(int(f.file(r.u64(0)).Fd()), buf, int64(r.u64(8)))
		return buf[:max(n, 0)], err
	case opWrite:
		n, err := unix.Pwrite(int(f.file(r.u64(0)).Fd()), r.body[40:40+r.u32(16)], int64(r.u64(8)))
		return binary.LittleEndian.AppendUint64(nil, uint64(max(n, 0))), err
	case opStatfs:
		return f.statfs()
	case opRelease, opReleasedir:
		f.mu.Lock()
		file := f.files[r.u64(0)]
		delete(f.files, r.u64(0))
		f.mu.Unlock()
		return nil, file.Close()
	case opFsync, opFlush, opFsyncdir, opSetlk:
		return nil, nil
	}
	return nil, syscall.ENOSYS
}

func (f *fuseFS) forget(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, path)
}

func (f *fuseFS) rename(from, to string) error {
	if err := os.Rename(f.real(from), f.real(to)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, to)
	for node, path := range f.paths {
		if path == from || strings.HasPrefix(path, from+"/") {
			delete(f.nodes, path)
			f.paths[node] = to + path[len(from):]
			f.nodes[f.paths[node]] = node
		}
	}
	return nil
}

func (f *fuseFS) open(path string, flags int, mode os.FileMode) ([]byte, error) {
	file, err := os.OpenFile(f.real(path), flags&^(os.O_EXCL|os.O_APPEND), mode)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.files[f.last] = file
	out := binary.LittleEndian.AppendUint64(nil, f.last)
	direct := uint64(1) // past the page cache, so without shared maps
	if f.kind == fuseLocal {
		direct = 0
	}
	return binary.LittleEndian.AppendUint64(out, direct), nil
}

func (f *fuseFS) entry(path string) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Lstat(f.real(path), &st); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	node, ok := f.nodes[path]
	if !ok {
		f.last++
		node = f.last
		f.nodes[path], f.paths[node] = node, path
	}
	out := make([]byte, 40)
	binary.LittleEndian.PutUint64(out, node)
	return append(out, attrOf(&st)...), nil
}

func (f *fuseFS) attr(path string, byHandle bool, handle uint64) ([]byte, error) {
	var st unix.Stat_t
	err := unix.Lstat(f.real(path), &st)
	if file := f.file(handle); byHandle && file != nil {
		err = unix.Fstat(int(file.Fd()), &st)
	}
	return append(make([]byte, 16), attrOf(&st)...), err
}

func attrOf(st *unix.Stat_t) []byte {
	var out []byte
	for _, v := range []uint64{st.Ino, uint64(st.Size), uint64(st.Blocks), uint64(st.Atim.Sec), uint64(st.Mtim.Sec),
		uint64(st.Ctim.Sec)} {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	for _, v := range []uint32{uint32(st.Atim.Nsec), uint32(st.Mtim.Nsec), uint32(st.Ctim.Nsec), st.Mode,
		uint32(st.Nlink), st.Uid, st.Gid, 0, 4096, 0} {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}

func (f *fuseFS) setattr(r *request, path string) ([]byte, error) {
	const mode, size, handle = 1 << 0, 1 << 3, 1 << 6
	valid := r.u32(0)
	var err error
	if valid&size != 0 {
		if file := f.file(r.u64(8)); valid&handle != 0 && file != nil {
			err = file.Truncate(int64(r.u64(16)))
		} else {
			err = os.Truncate(f.real(path), int64(r.u64(16)))
		}
	}
	if err == nil && valid&mode != 0 {
		err = os.Chmod(f.real(path), os.FileMode(r.u32(68)&0o777))
	}
	if err != nil {
		return nil, err
	}
	return f.attr(path, valid&handle != 0, r.u64(8))
}

func (f *fuseFS) readdir(path string, offset uint64, size int) ([]byte, error) {
	entries, err := os.ReadDir(f.real(path))
	var out []byte
	for i, e := range entries {
		if uint64(i) < offset {
			continue
		}
		kind := uint32(unix.DT_REG)
		if e.IsDir() {
			kind = unix.DT_DIR
		}
		if len(out)+24+len(e.Name())+8 > size {
			break
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(i+2))
		out = binary.LittleEndian.AppendUint64(out, uint64(i+1))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(e.Name())))
		out = binary.LittleEndian.AppendUint32(out, kind)
		out = append(out, e.Name()...)
		out = append(out, make([]byte, -len(e.Name())&7)...)
	}
	return out, err
}

func (f *fuseFS) statfs() ([]byte, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(f.under, &st); err != nil {
		return nil, err
	}
	var out []byte
	for _, v := range []uint64{st.Blocks, st.Bfree, st.Bavail, st.Files, st.Ffree} {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	for _, v := range []uint32{4096, 255, 4096, 0} {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return append(out, make([]byte, 24)...), nil
}
