// What the core offers to hosts and further views; build.mjs adds `modules`, the parts that they share with it.

export { mount } from "./mount";
export { whenLoaded } from "./registry";
