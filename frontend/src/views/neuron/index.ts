import { addView } from "../../registry";
import { neuronView } from "./view";

addView("neuron", { create: neuronView, pictureFirst: true });
