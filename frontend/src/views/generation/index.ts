import { addView } from "../../registry";
import { generationToolbar } from "./toolbar";
import { generationView } from "./view";

addView("generation", { create: generationView, toolbar: generationToolbar, pictureFirst: true });
