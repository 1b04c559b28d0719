// eyeline: streamlit-seen.js, built from frontend/src
var s="0px 0px 200px 0px";function c({data:i,parentElement:n,setStateValue:r}){let e,t=new IntersectionObserver(o=>{clearTimeout(e),o[o.length-1].isIntersecting&&(e=setTimeout(()=>{t.disconnect(),r("seen",i)},400))},{rootMargin:s});return t.observe(n.closest(".stVerticalBlock")??n),()=>{clearTimeout(e),t.disconnect()}}export{c as default};
