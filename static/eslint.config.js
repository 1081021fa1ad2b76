import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["built/"] },
  js.configs.recommended,
  {
    languageOptions: { globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  { files: ["bundling/**", "**/*.test.js", "eslint.config.js"], languageOptions: { globals: globals.node } },
];
