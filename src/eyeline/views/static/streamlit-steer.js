// eyeline: streamlit-steer.js, built from frontend/src
var i=new Map;function r(t,e,n,o){if((i.get(t)??0)>=e)return;let a=document.querySelector(`.eyeline-view[data-digest="${CSS.escape(t)}"]`);a?(i.set(t,e),a.dispatchEvent(new CustomEvent("eyeline:state",{detail:n}))):o>0&&setTimeout(()=>r(t,e,n,o-1),50)}function s({data:t}){let[e,n,o]=t;r(e,n,o,100)}export{s as default};
