import { addView } from "../../registry";
import { sentenceToolbar } from "../sentence/toolbar";
import { textView } from "./view";

addView("text", { create: textView, toolbar: sentenceToolbar, pictureFirst: true });
