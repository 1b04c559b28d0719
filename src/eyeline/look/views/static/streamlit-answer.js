// eyeline: streamlit-answer.js, built from frontend/src
function t(e,n,o=()=>!1,i=100){if(o())return;let r=document.querySelector(`.eyeline-view[data-digest="${CSS.escape(e)}"]`);r?r.dispatchEvent(n):i>0&&setTimeout(()=>t(e,n,o,i-1),50)}function d({data:[e,n]}){t(e,new CustomEvent("eyeline:answer",{detail:n}))}export{d as default};
