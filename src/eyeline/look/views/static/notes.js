// eyeline: notes.js, built from frontend/src
var l="eyeline-notes";var c=new WeakMap;function m(e){let a=document.createElement("div"),s=document.createElement("label"),t=document.createElement("textarea"),o=document.createElement("button");a.className="eyeline-notes",Object.assign(t,{id:l,rows:6,maxLength:2e4,value:sessionStorage.getItem(l)??""}),o.type="button",s.htmlFor=l,t.addEventListener("input",()=>sessionStorage.setItem(l,t.value)),a.append(s,t,o),e.append(a);let n={label:s,area:t,save:o};return c.set(e,n),n}function u({data:e,parentElement:a}){let{label:s,area:t,save:o}=c.get(a)??m(a);s.textContent=e.label,t.placeholder=e.hint,o.textContent=e.save,o.onclick=()=>{let n=document.createElement("a"),r=`${location.origin}${location.pathname}?${e.state}`,i=`${e.about}${r}

${t.value}
`;n.href=URL.createObjectURL(new Blob([i],{type:"text/plain;charset=utf-8"})),n.download=e.name,n.click(),setTimeout(()=>URL.revokeObjectURL(n.href),1e4)}}export{u as default};
