import { render } from "./hosts/anywidget";

export { mount } from "./mount";
export default { render };
