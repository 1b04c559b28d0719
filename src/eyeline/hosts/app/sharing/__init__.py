"""What all visitors of an app share: computed values, turns to draw a page, and the cores."""
