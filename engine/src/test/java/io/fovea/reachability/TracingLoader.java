package io.fovea.reachability;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Set;

/** Loads bindings, engine and tests again, and records the dynamic calls of some classes. */
final class TracingLoader extends ClassLoader {
  private final Set<String> traced;

  TracingLoader(ClassLoader parent, Set<String> traced) {
    super(parent);
    this.traced = traced;
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith("io.fovea.") || name.startsWith(Trace.class.getName())) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> c = findLoadedClass(name);
      return c != null ? c : define(name);
    }
  }

  private Class<?> define(String name) throws ClassNotFoundException {
    try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      byte[] bytes = in.readAllBytes();
      if (traced.contains(name)) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        new ClassReader(bytes).accept(new DynamicCalls.Weaver(writer), 0);
        bytes = writer.toByteArray();
      }
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
