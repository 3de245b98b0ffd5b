# One member of the group of web servers, as the others see it.
define profile::peer (
  String $certname,
  Integer $port,
  Float $weight,
  Array[String] $labels,
) {
  file { "${facts['muster']['target']}/peers/${title}":
    content => "${certname}:${port} ${weight} ${labels.join(',')}\n",
  }
}
