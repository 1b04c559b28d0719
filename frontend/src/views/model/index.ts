import { addView } from "../../registry";
import { modelView } from "./view";

addView("model", { create: modelView, pictureFirst: true });
