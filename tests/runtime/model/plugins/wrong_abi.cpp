// SPDX-License-Identifier: Apache-2.0
// A plug-in of another version.
extern "C" int troupe_plugin_abi() {
  return 99;
}
