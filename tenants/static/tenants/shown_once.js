// The page answers a form. Loading it again would send that form again, and make another secret: go to the list instead.
"use strict";
history.replaceState(null, "", document.currentScript.dataset.list);
