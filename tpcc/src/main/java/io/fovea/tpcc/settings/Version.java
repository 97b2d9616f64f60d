package io.fovea.tpcc.settings;

import picocli.CommandLine.IVersionProvider;

/** Provides the output of {@code --version}. */
public final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    String version = Version.class.getPackage().getImplementationVersion();
    return new String[] {"fovea-tpcc " + (version == null ? "(unpackaged)" : version)};
  }
}
