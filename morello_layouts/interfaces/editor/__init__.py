"""The language server: layouts in files of any language, as an editor shows them."""
