import { render } from "./hosts/anywidget";

export { page } from "./hosts/page";
export { mount } from "./mount";
export default { render };
