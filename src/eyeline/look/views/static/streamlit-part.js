// eyeline: streamlit-part.js, built from frontend/src
// src/hosts/streamlit-core.ts
var page = globalThis;
var CORE_LOADED = "eyeline:core";
function sharedCore() {
  if (page.eyeline) return Promise.resolve(page.eyeline);
  return new Promise((resolve) => addEventListener(CORE_LOADED, () => resolve(page.eyeline), { once: true }));
}

// src/hosts/streamlit-part.ts
var eyeline = await sharedCore();
function streamlit_part_default() {
}
export {
  streamlit_part_default as default,
  eyeline
};
