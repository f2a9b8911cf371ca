# Removes the serial number, which is random, and paths of this machine from a bill of materials.
/"serialNumber":/d
s|path+file://[^#"]*#|fpstore:|g
s|[?&]download_url=file:[^#"]*||g
