package score
import ("testing";"context";"encoding/json";"os";"cabra-run/tasks";"cabra-run/tasks/refactor")
func TestZZ(t *testing.T){
 g,_:=tasks.ParseGrid("axis=traversal; size=200; instances=1; task=add-parameter")
 src,_:=refactor.NewSource(g,refactor.Options{})
 s:=newScorer(t,1)
 for task,err:=range src.Tasks(context.Background()){ if err!=nil{t.Fatal(err)}
  e,err:=s.expect(context.Background(),&task); if err!=nil{t.Fatal(err)}
  job:=e.job; job.Source=[]byte(task.Reference["solution.py"])
  b,_:=json.Marshal(job); os.WriteFile("/tmp/boot/prof/"+string(task.Cell.Code)+".json",b,0644)
  os.WriteFile("/tmp/boot/prof/"+string(task.Cell.Code)+".py",job.Source,0644)
 }
}
