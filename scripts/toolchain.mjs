// What the build needs beside npm packages, each at one exact version:
// the Rust components of rust-toolchain.toml, and two cargo tools in .tools/.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { CommandFailed, ROOT, run, step } from './progress.mjs';

const WORKER_BUILD = '0.8.7';
const TOOLS = `${ROOT}/.tools`;
const NPM_BIN = `${ROOT}/node_modules/.bin`;

// Compiles the Worker, and the standard library with it, so that a panic
// unwinds: it then fails one request. In the usual build it takes down every
// request in the isolate, and Durable Object calls in flight hang.
// `worker-build --panic-unwind` does the same, but on whichever nightly is
// installed; the pinned stable compiler can do it when told to (BOOTSTRAP).
export const WASM_ENV = {
  RUSTC_BOOTSTRAP: '1',
  CARGO_UNSTABLE_BUILD_STD: 'std,panic_unwind',
  // 7.2 kB (gzip).
  CARGO_UNSTABLE_BUILD_STD_FEATURES: 'panic-unwind,optimize_for_size',
  // Derived Debug is no more than a name: 2.2 kB. Nothing that ships says more.
  CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS: '-Cpanic=unwind -Zfmt-debug=shallow',
  // worker-build sets it; set everywhere, or clippy would see other code.
  WASM_BINDGEN_USE_JS_SYS: '1',
};

export const workerBuild = `${TOOLS}/bin/worker-build`;

// Without these, worker-build downloads its own copies.
export const workerBuildEnv = () => ({
  ...WASM_ENV,
  WASM_BINDGEN_BIN: `${TOOLS}/bin/wasm-bindgen`,
  WASM_OPT_BIN: `${NPM_BIN}/wasm-opt`,
  ESBUILD_BIN: `${NPM_BIN}/esbuild`,
});

export async function ensureToolchain() {
  await ensureRust();
  await ensureCargoTool('worker-build', WORKER_BUILD, ['--locked']);
  // Not --locked: its lock file names a crate version that was withdrawn.
  await ensureCargoTool('wasm-bindgen', lockedVersion('wasm-bindgen'), [], 'wasm-bindgen-cli');
  // Shared by the two installations, of no use after them.
  rmSync(`${TOOLS}/target`, { recursive: true, force: true });
}

export async function ensureRust() {
  const sysroot = await activeSysroot();
  const parts = {
    rustfmt: 'bin/cargo-fmt',
    clippy: 'bin/cargo-clippy',
    'rust-src': 'lib/rustlib/src/rust/library/std/Cargo.toml',
  };
  const missing = Object.keys(parts).filter((name) => !existsSync(`${sysroot}/${parts[name]}`));
  if (missing.length > 0) {
    await step(`Installing Rust's ${missing.join(', ')}`, () => run('rustup', ['component', 'add', ...missing]));
  }
  if (!existsSync(`${sysroot}/lib/rustlib/wasm32-unknown-unknown`)) {
    await step("Installing Rust's wasm32 target", () => run('rustup', ['target', 'add', 'wasm32-unknown-unknown']));
  }
}

async function activeSysroot() {
  const ask = async () => (await run('rustc', ['--print', 'sysroot'])).trim().split('\n').at(-1);
  try {
    return await ask();
  } catch {
    await requireRustup();
    await step('Installing the Rust compiler of rust-toolchain.toml', () => run('rustup', ['toolchain', 'install']));
    return ask();
  }
}

async function requireRustup() {
  await run('rustup', ['--version']).catch(() => {
    throw new CommandFailed('Rust is missing: install rustup from https://rustup.rs, then run this again.');
  });
}

async function ensureCargoTool(bin, version, flags, crate = bin) {
  const installed = await run(`${TOOLS}/bin/${bin}`, ['--version']).catch(() => '');
  if (installed.trim().split(' ').at(-1) === version) return;
  // A debug build takes half the time to install and works as fast here.
  const args = ['install', crate, '--version', `=${version}`, '--bin', bin, '--root', TOOLS, '--debug', '--force'];
  const env = { CARGO_TARGET_DIR: `${TOOLS}/target`, CARGO_PROFILE_DEV_DEBUG: 'false' };
  await step(`Installing ${crate} ${version} (about a minute, once)`, () =>
    run('cargo', [...args, ...flags], { env }));
}

// The command-line tool and the library must agree to the last digit.
function lockedVersion(name) {
  const lock = readFileSync(`${ROOT}/Cargo.lock`, 'utf8');
  const found = lock.match(new RegExp(`name = "${name}"\\nversion = "([^"]+)"`));
  if (!found) throw new CommandFailed(`Cargo.lock does not name ${name}: run cargo generate-lockfile`);
  return found[1];
}
