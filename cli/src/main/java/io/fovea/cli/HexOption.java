package io.fovea.cli;

import picocli.CommandLine.Option;

final class HexOption {
  @Option(
      names = "--hex",
      description = {
        "Objects are shown as the bytes that they are, in hexadecimal digits, with keys of one part."
      })
  boolean hex;
}
