// eyeline: streamlit-steer.js, built from frontend/src
function o(t,e,n=()=>!1,r=100){if(n())return;let a=document.querySelector(`.eyeline-view[data-digest="${CSS.escape(t)}"]`);a?a.dispatchEvent(e):r>0&&setTimeout(()=>o(t,e,n,r-1),50)}var i=new Map;function u({data:[t,e,n]}){(i.get(t)??0)>=e||(i.set(t,e),o(t,new CustomEvent("eyeline:state",{detail:n}),()=>i.get(t)!==e))}export{u as default};
