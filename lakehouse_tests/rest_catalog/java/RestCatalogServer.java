package org.apache.iceberg.rest;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * A REST catalog for tests: {@code RestCatalogServer <sqlite file> <warehouse>}.
 *
 * <p>Lines {@code key=value} on its standard input, up to an empty one, are properties of the catalog beneath: keys of a
 * store are no arguments of a process.
 *
 * <p>It listens on a free port of the loopback interface, prints that port, and lives until its standard input ends, so
 * that it never outlives the tests that started it. Under {@code /branchless} the same tables are served by a catalog
 * that ignores branches.
 */
public class RestCatalogServer {
  private RestCatalogServer() {}

  public static void main(String[] args) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", "jdbc:sqlite:" + args[0] + "?busy_timeout=30000");
    properties.put("warehouse", args[1]);
    properties.put("jdbc.schema-version", "V1");
    properties.put("io-impl", LocalFiles.class.getName());
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null && !line.isEmpty(); line = input.readLine()) {
      String[] property = line.split("=", 2);
      properties.put(property[0], property[1]);
    }
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.initialize("lake", properties);
    ReentrantLock lock = new ReentrantLock();
    Faults faults = new Faults();

    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(new ServletHolder(faults), "/faults");
    context.addServlet(new ServletHolder(servlet(catalog, lock, faults, "/branchless")), "/branchless/*");
    context.addServlet(new ServletHolder(servlet(catalog, lock, faults, "")), "/*");
    // A namespace of two levels has %1F in its path, which Jetty and the servlet specification refuse by default.
    context.getServletHandler().setDecodeAmbiguousURIs(true);
    HttpConfiguration http = new HttpConfiguration();
    http.setUriCompliance(UriCompliance.UNSAFE);
    http.setSendServerVersion(false);

    Server server = new Server();
    ServerConnector connector = new ServerConnector(server, 1, 1, new HttpConnectionFactory(http));
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    server.setHandler(context);
    server.start();
    System.out.println(connector.getLocalPort());
    while (input.read() >= 0) {
      // wait for the end of the input
    }
    System.exit(0);
  }

  private static FaultyServlet servlet(JdbcCatalog catalog, ReentrantLock lock, Faults faults, String prefix) {
    return new FaultyServlet(new SerialAdapter(catalog, lock, !prefix.isEmpty()), faults, prefix);
  }
}
