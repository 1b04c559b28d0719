import { addView } from "../../registry";
import { sentenceToolbar } from "./toolbar";
import { sentenceView } from "./view";

addView("sentence", { create: sentenceView, toolbar: sentenceToolbar, pictureFirst: true });
