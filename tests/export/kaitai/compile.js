// Compile a Kaitai Struct file, given as JSON, to Python: node compile.js COMPILER FILE FOLDER
"use strict";
const fs = require("fs");
const path = require("path");
const [compiler, file, folder] = process.argv.slice(2);
const specification = JSON.parse(fs.readFileSync(file, "utf8"));
require(compiler).compile("python", specification, null, false).then(
  (sources) => {
    for (const [name, text] of Object.entries(sources)) fs.writeFileSync(path.join(folder, name), text);
  },
  (error) => {
    console.error(String(error));
    process.exitCode = 1;
  },
);
