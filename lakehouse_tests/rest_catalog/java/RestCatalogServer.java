package org.apache.iceberg.rest;

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
 * <p>It listens on a free port of the loopback interface, prints that port, and lives until its standard input ends, so
 * that it never outlives the tests that started it. Under {@code /branchless} the same tables are served by a catalog
 * that ignores branches.
 */
public class RestCatalogServer {
  private RestCatalogServer() {}

  public static void main(String[] args) throws Exception {
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.initialize(
        "lake",
        Map.of(
            "uri", "jdbc:sqlite:" + args[0] + "?busy_timeout=30000",
            "warehouse", args[1],
            "jdbc.schema-version", "V1",
            "io-impl", LocalFiles.class.getName()));
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
    while (System.in.read() >= 0) {
      // wait for the end of the input
    }
    System.exit(0);
  }

  private static FaultyServlet servlet(JdbcCatalog catalog, ReentrantLock lock, Faults faults, String prefix) {
    return new FaultyServlet(new SerialAdapter(catalog, lock, !prefix.isEmpty()), faults, prefix);
  }
}
