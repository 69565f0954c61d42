package zzproto
import ("testing";"database/sql";"database/sql/driver";"context";"io";"os";"path/filepath"
"golang.org/x/sys/unix"
_ "modernc.org/sqlite")
func cpu(b *testing.B){var before,after unix.Rusage;unix.Getrusage(0,&before);b.Cleanup(func(){unix.Getrusage(0,&after)
spent:=after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano();b.ReportMetric(float64(spent)/1e6/float64(b.N),"cpu-ms/op")})}
func db(b *testing.B)*sql.DB{d,err:=sql.Open("sqlite","file:/dev/shm/h9/r/run.db?mode=ro");if err!=nil{b.Fatal(err)};d.SetMaxOpenConns(1);cpu(b);return d}
var qs=map[string]string{
"v6":`SELECT trial_id,id,number,solved,scorer,version FROM verdicts WHERE superseded=0 AND trial_id BETWEEN 1 AND 100000`,
"t12":`SELECT id,task_id,repetition,reopened,axis,size,refactoring,code,agent,version,model,settings FROM trials WHERE id BETWEEN 1 AND 100000`,
"aall":`SELECT trial_id, number, started,ended,outcome, limit_hit, unchanged+2*unscored, wall_seconds, usage_note, effective,
 used_exchanges, used_input, untold_input, used_cached, untold_cached,
	used_cache_write, untold_cache_write, used_output, untold_output, used_reasoning, untold_reasoning,
	used_cost_usd, untold_cost_usd
 FROM attempts WHERE trial_id BETWEEN 1 AND 100000 ORDER BY trial_id, number`,
}
func BenchmarkRaw(b *testing.B){ for n,q:=range qs {b.Run(n,func(b *testing.B){d:=db(b); for b.Loop(){
 c,_:=d.Conn(context.Background())
 err:=c.Raw(func(dc any)error{r,err:=dc.(driver.QueryerContext).QueryContext(context.Background(),q,nil);if err!=nil{return err};defer r.Close()
  row:=make([]driver.Value,len(r.Columns())); n:=0
  for{err:=r.Next(row);if err==io.EOF{break};if err!=nil{return err};n++};return nil})
 if err!=nil{b.Fatal(err)};c.Close()
}})}}
func BenchmarkSQL(b *testing.B){ for n,q:=range qs {b.Run(n,func(b *testing.B){d:=db(b); for b.Loop(){
 r,err:=d.Query(q);if err!=nil{b.Fatal(err)};cols,_:=r.Columns();ct,_:=r.ColumnTypes();_=ct
 dest:=make([]any,len(cols));for i,c:=range cols{ if c=="id"||c=="trial_id"{dest[i]=new(int64)}else if c[0:4]=="used"&&c!="used_cost_usd"{dest[i]=new(int64)} else if c=="wall_seconds"||c=="used_cost_usd"{dest[i]=new(float64)} else {dest[i]=new(sql.NullString)}}
 for r.Next(){if err:=r.Scan(dest...);err!=nil{b.Fatal(err)}};r.Close()
}})}}
func BenchmarkStat(b *testing.B){ d:=db(b);var ps []string;r,_:=d.Query("select path from attempts");for r.Next(){var s string;r.Scan(&s);ps=append(ps,s)}
 b.Run("lstat",func(b *testing.B){cpu(b);for b.Loop(){for _,p:=range ps{if _,err:=os.Lstat(filepath.Join("/dev/shm/h9/r",p));err!=nil{b.Fatal(err)}}}})
 b.Run("fstatat",func(b *testing.B){cpu(b);f,_:=os.Open("/dev/shm/h9/r");var st unix.Stat_t;for b.Loop(){for _,p:=range ps{if err:=unix.Fstatat(int(f.Fd()),p,&st,unix.AT_SYMLINK_NOFOLLOW);err!=nil{b.Fatal(err)}}}})
}
