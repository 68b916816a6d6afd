
// A field that completes what is typed has the role of a combobox, and lacks the attributes of one: it is a text field. The
// placeholder of the field for the key looks like a key.
new MutationObserver(() => {
  const fields = document.querySelectorAll(".code-input-lite__editor[role=combobox]:not([aria-expanded])");
  for (const field of fields) field.setAttribute("role", "textbox");
  for (const field of document.querySelectorAll(".scalar-password-input")) field.placeholder = "An API key: tk_…";
}).observe(document.documentElement, { childList: true, subtree: true });
