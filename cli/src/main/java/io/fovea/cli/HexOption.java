package io.fovea.cli;

import picocli.CommandLine.Option;

final class HexOption {
  @Option(
      names = "--hex",
      description = {"Shows objects as bytes, in hexadecimal, with keys of one part."})
  boolean hex;
}
