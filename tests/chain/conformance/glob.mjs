// The suite imports fs.globSync, which Node 20 does not have, and never calls it for a server: give it a name to import.
import { register } from "node:module";

const shim = `export * from "node:fs"; export const globSync = () => { throw new Error("needs Node 22"); };`;
const hooks = `
export async function resolve(specifier, context, next) {
  if (specifier === "fs" && context.parentURL?.includes("/conformance/"))
    return { url: "data:text/javascript," + ${JSON.stringify(encodeURIComponent(shim))}, shortCircuit: true };
  return next(specifier, context);
}`;
if (!("globSync" in (await import("node:fs")))) register("data:text/javascript," + encodeURIComponent(hooks));
