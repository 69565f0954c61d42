package results

import "testing"

// What may be another machine's too is not trusted with shared memory, whatever
// it says.
func TestKindOf(t *testing.T) {
	for magic, want := range map[uint32]kind{
		0xef53: {name: "ext4", local: true}, 0x01021994: {name: "tmpfs", local: true}, 0x794c7630: {name: "overlay", local: true},
		0x6969: {name: "nfs", network: true}, 0xff534d42: {name: "cifs", network: true}, 0x01021997: {name: "9p", network: true},
		0x65735546: {name: "fuse"}, 0x12345678: {name: "0x12345678"},
	} {
		if got := kindOf(magic); got != want {
			t.Errorf("%#x is %+v, want %+v", magic, got, want)
		}
	}
}
